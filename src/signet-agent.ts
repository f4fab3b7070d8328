// The program of the agent's own package, which the build bundles into one file for old versions of Node.js: no await here.
void import("./without-debugger.ts") // before anything else: until then, a signal opens the debugger
  .then(() => import("./before-reload-signals.ts"))
  .then(() => import("./run-agent-command.ts"))
  .then(({ runAgentCommand }) => runAgentCommand("signet-agent"));
