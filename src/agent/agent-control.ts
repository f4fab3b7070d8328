import type { ServerResponse } from "node:http";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../machinery/api/thrown-error.ts";
import { parseJsonObject } from "../machinery/api/json/json-object.ts";
import type { JsonObject } from "../machinery/api/json/json-object.ts";
import { closeServer, createServer, request } from "../machinery/http/connections/http1/node-http.ts";
import { fileFailureReason, UnusableFile } from "../machinery/files/unusable-file.ts";
import { agentFaults } from "./agent-status.ts";
import type { AgentStatus } from "./agent-status.ts";
import { statusText } from "./agent-status-text.ts";
import type { RunningAgent } from "./start-agent.ts";
import type { Log } from "../machinery/logging/log.ts";

/** The socket's path: in the data directory, where only the agent's user can make files. */
const socketPath = (dataDirectory: string): string => join(dataDirectory, "agent.sock");
const answerMilliseconds = 10_000;
/** In characters. The status of hundreds of certificates has a hundredth of it. */
const longestAnswer = 16 * 2 ** 20;

interface ControlSocket {
  close(): Promise<void>;
}

/**
 * Lets commands of the same user, and of no other, talk to the running agent: `GET /status`, `POST /renew?name=NAME`. The caller owns the
 * data directory, so an existing socket belongs to a process that has ended. A socket that cannot be opened is logged.
 */
export async function openControlSocket(
  dataDirectory: string,
  { agent, log }: { readonly agent: () => RunningAgent | undefined; readonly log: Log },
): Promise<ControlSocket> {
  const path = socketPath(dataDirectory);
  const server = createServer({ maxHeaderSize: 4096, requestTimeout: answerMilliseconds }, (_request, response) =>
    answer(response, agent()),
  );
  server.maxConnections = 16;
  await new Promise<void>((resolve) => {
    const report = (error: unknown): void => {
      log.warn({ path }, `signet agent status and renew are not available: ${socketFailureReason(error)}`);
      resolve();
    };
    server.once("error", report);
    try {
      rmSync(path, { force: true });
    } catch (error) {
      return report(error); // a folder is in the way: container engines make one when a missing file is to be mounted
    }
    // So that no other user can connect, whatever the process's umask is and whoever may enter the folder.
    const umask = process.umask(0o177);
    server.listen({ path }, resolve);
    process.umask(umask);
  });
  return { close: () => closeServer(server) };
}

function answer(response: ServerResponse, agent: RunningAgent | undefined): void {
  const { method, url = "" } = response.req;
  const send = (code: number, body: unknown): void => {
    response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const [pathname, query] = url.split("?", 2);
  if (agent === undefined) send(503, { message: "the agent is starting; try again in a moment" });
  else if (method === "GET" && pathname === "/status") send(200, agent.status());
  else if (method === "POST" && pathname === "/renew") {
    const isKnown = agent.renewNow(new URLSearchParams(query).get("name") ?? "");
    const names = agent.status().certificates.map(({ name }) => name);
    const message = isKnown ? "accepted" : `there is no certificate of this name; there are ${names.join(", ")}`;
    send(isKnown ? 202 : 404, { message });
  } else send(404, { message: "there is no such command" });
}

/** Asks the agent for its status. Throws UnusableFile, also when the answer is not one that commands can show. */
export async function readAgentStatus(dataDirectory: string): Promise<AgentStatus> {
  const status: AgentStatus = {
    outages: [], // an agent of an older version does not send outages
    ...((await ask(dataDirectory, { method: "GET", path: "/status" })) as Omit<AgentStatus, "outages">), // the answer of an agent
  };
  try {
    statusText(status);
    agentFaults(status);
  } catch {
    throw unreadableAnswer();
  }
  return status;
}

export async function renewThroughAgent(dataDirectory: string, name: string): Promise<void> {
  await ask(dataDirectory, { method: "POST", path: `/renew?name=${encodeURIComponent(name)}` });
}

function ask(
  dataDirectory: string,
  { method, path }: { readonly method: string; readonly path: string },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: socketPath(dataDirectory), method, path }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.length > longestAnswer) fail(unreadableAnswer());
      });
      answer.on("error", fail);
      answer.on("end", () => {
        clearTimeout(timer);
        const body = parseJsonObject(text);
        if (body === undefined) reject(unreadableAnswer());
        else if ((answer.statusCode ?? 500) < 300) resolve(body);
        else reject(new UnusableFile(refusalIn(body)));
      });
    });
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(askingFault(error, dataDirectory));
      sent.destroy();
    };
    const timer = setTimeout(() => fail(unusableAgent("does not answer")), answerMilliseconds);
    sent.on("error", fail);
    sent.end();
  });
}

const unreadableAnswer = (): UnusableFile => unusableAgent("gives an answer that cannot be read");

const unusableAgent = (fault: string): UnusableFile =>
  new UnusableFile(`the agent ${fault}; look at its log, or restart it`);

function askingFault(error: Error, dataDirectory: string): Error {
  switch (errorCode(error)) {
    case "ENOENT":
    case "ECONNREFUSED":
      return new UnusableFile(
        `no agent runs with the data directory ${dataDirectory}; start it, or name its --config or --data-dir`,
      );
    case "ECONNRESET":
      return unusableAgent("does not answer to the end");
    case "EINVAL":
    case "EACCES":
    case "ENOTDIR":
    case "ELOOP":
      return new UnusableFile(`${socketPath(dataDirectory)}: ${socketFailureReason(error)}`, { cause: error });
    default:
      return errorCode(error).startsWith("HPE_") ? unreadableAnswer() : error; // Node.js's errors for what is no HTTP
  }
}

/** Why the socket cannot be used, and what to do. */
const socketFailureReason = (error: unknown): string =>
  errorCode(error) === "EINVAL"
    ? "the path is too long for a socket; name a shorter data directory"
    : fileFailureReason(error);

const refusalIn = ({ message }: JsonObject): string => (typeof message === "string" ? message : "the agent refused");
