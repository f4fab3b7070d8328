// Before anything else is loaded, because until then a signal opens the debugger.
await import("./without-debugger.ts");

const [, , command] = process.argv;
if (command === "agent" || command === "serve") await import("./before-reload-signals.ts");
if (command === "agent") {
  await (await import("./run-agent-command.ts")).runAgentCommand("signet agent");
} else {
  const { signetCommand } = await import("./cli/program.ts");
  const { runCommandLine } = await import("./cli/run-command-line.ts");
  const { programs } = await import("./programs.ts");
  await runCommandLine(process.argv, signetCommand(programs));
}
