// Search in the site that is opened from files: browsers start no workers there, so the script of a
// worker runs in a hidden frame of the page. What it needs of a worker is there: messages both ways.
"use strict";

class FrameWorker extends EventTarget {
  constructor(script) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    this.inside = frame.contentWindow;
    this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    const element = this.inside.document.createElement("script");
    this.loaded = new Promise((done) => element.addEventListener("load", done));
    element.src = script;
    this.inside.document.body.append(element);
  }

  postMessage(data) {
    this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
