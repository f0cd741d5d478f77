// Errors and warnings at their place, and tasks that ask dipapprox about the program that is open.
"use strict";

const { execFile } = require("node:child_process");
const path = require("node:path");
const vscode = require("vscode");

const PLACE = /^(.*):(\d+):(\d+): (warning: )?(.*)$/;
// A claim says what δ is: a program that asks for it is right.
const OF_CLAIMS = "parameter 'delta' has no value";

function setting(name) {
  return vscode.workspace.getConfiguration("dipapprox").get(name);
}

// What `dipapprox` wrote to standard error, as diagnostics: a place, the line with carets, a hint.
function diagnosticsOf(text, file) {
  const found = [];
  for (const line of text.split(/\r?\n/)) {
    const place = PLACE.exec(line);
    if (place && path.basename(place[1]) === path.basename(file)) {
      const row = Number(place[2]) - 1;
      const column = Number(place[3]) - 1;
      found.push({ row, column, length: 1, warns: Boolean(place[4]), message: place[5] });
    } else if (found.length > 0) {
      const last = found[found.length - 1];
      const carets = /^ *\|[ ]*(\^+)/.exec(line);
      if (carets) last.length = carets[1].length;
      else if (line.startsWith("hint: ")) last.message += `\n${line}`;
    }
  }
  const { Error, Warning } = vscode.DiagnosticSeverity;
  const wrong = found.filter((each) => !each.message.includes(OF_CLAIMS));
  return wrong.map(({ row, column, length, warns, message }) => {
    const range = new vscode.Range(row, column, row, column + length);
    const diagnostic = new vscode.Diagnostic(range, message, warns ? Warning : Error);
    diagnostic.source = "dipapprox";
    return diagnostic;
  });
}

// The command that reads whatever a file may be: a program, a stream, a service.
const reading = (file) => ["show", "--core", "--json", file];

function check(document, diagnostics) {
  if (document.languageId !== "dpg" || document.uri.scheme !== "file") return;
  if (!setting("checkOnSave")) return;
  execFile(setting("command"), reading(document.uri.fsPath), { timeout: 30000, maxBuffer: 1 << 26 }, (_, __, errors) => {
    diagnostics.set(document.uri, diagnosticsOf(errors, document.uri.fsPath));
  });
}

function task(definition, name) {
  const words = [definition.command, "${file}", ...(definition.arguments ?? [])];
  const made = new vscode.Task(
    definition,
    vscode.TaskScope.Workspace,
    name,
    "dipapprox",
    new vscode.ProcessExecution(setting("command"), words),
    "$dipapprox",
  );
  made.group = vscode.TaskGroup.Test;
  return made;
}

// What 'Verify This Program' asks: the claims that stand in the file, or the claim of the setting.
function question() {
  const claim = setting("claim");
  const asked = claim.length > 0 ? { command: "verify", arguments: claim } : { command: "test" };
  return task({ type: "dipapprox", ...asked }, "verify");
}

function tasks() {
  return [
    question(),
    task({ type: "dipapprox", command: "show", arguments: ["--core", "--json"] }, "errors"),
    task({ type: "dipapprox", command: "prove", arguments: ["--reals"] }, "prove"),
  ];
}

function activate(context) {
  const diagnostics = vscode.languages.createDiagnosticCollection("dipapprox");
  context.subscriptions.push(
    diagnostics,
    vscode.workspace.onDidOpenTextDocument((document) => check(document, diagnostics)),
    vscode.workspace.onDidSaveTextDocument((document) => check(document, diagnostics)),
    vscode.workspace.onDidCloseTextDocument((document) => diagnostics.delete(document.uri)),
    vscode.commands.registerCommand("dipapprox.verify", () => vscode.tasks.executeTask(question())),
    vscode.tasks.registerTaskProvider("dipapprox", {
      provideTasks: tasks,
      resolveTask: (given) => task(given.definition, given.name),
    }),
  );
  vscode.workspace.textDocuments.forEach((document) => check(document, diagnostics));
}

module.exports = { activate, diagnosticsOf, reading, tasks };
