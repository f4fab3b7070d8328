import { Command } from "commander";
import type { ApiObject } from "../../machinery/api/object-meta.ts";
import { parseDuration } from "../../machinery/api/duration.ts";
import { connect, withConnectionFlags } from "../../machinery/command-line/connection.ts";
import type { ConnectionFlags } from "../../machinery/command-line/connection.ts";
import { UsageError } from "../../machinery/command-line/flag.ts";
import { print, withOutputFlag } from "../../machinery/command-line/output.ts";
import type { OutputFormat } from "../../machinery/command-line/output.ts";
import { serviceAccountResource } from "./resources.ts";

interface TokenRequest extends ApiObject {
  readonly spec: {
    readonly audiences: readonly string[];
    readonly expirationSeconds?: number;
    readonly boundObjectRef?: {
      readonly apiVersion: string;
      readonly kind: string;
      readonly name: string;
      readonly uid?: string;
    };
  };
  readonly status?: { readonly token: string; readonly expirationTimestamp: string };
}

interface TokenReview extends ApiObject {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly audiences?: readonly string[];
    readonly user?: { readonly username?: string; readonly groups?: readonly string[] };
    readonly error?: string;
  };
}

/** `signet token create|review`: issues and reviews service account tokens. */
export const token = (): Command =>
  new Command("token").description("issue and review service account tokens").addCommand(create()).addCommand(review());

interface CreateFlags extends ConnectionFlags {
  readonly output: OutputFormat;
  readonly audience: readonly string[];
  readonly duration?: string;
  readonly boundObjectKind?: string;
  readonly boundObjectName?: string;
  readonly boundObjectUid?: string;
}

const collect = (value: string, previous: readonly string[]): readonly string[] => [...previous, value];

const create = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("create")))
    .description("issue a token for a service account")
    .argument("<service-account>")
    .option("--audience <audience>", "an audience of the token; may be repeated; default: the API server", collect, [])
    .option("--duration <duration>", "the lifetime, such as 10m or 24h; default: the server decides")
    .option(
      "--bound-object-kind <kind>",
      "Pod, Secret or Node: bind the token to an object, and end it when the object is deleted",
    )
    .option("--bound-object-name <name>", "the name of that object")
    .option("--bound-object-uid <uid>", "the uid of that object; default: the uid of the current object with that name")
    .action(async (name: string, flags: CreateFlags) => {
      const { client, names, namespace } = await connect(flags);
      const answer = await client
        .resource(serviceAccountResource(names), namespace)
        .createSubresource<TokenRequest>(name, "token", {
          apiVersion: `${names.group("authentication")}/v1`,
          kind: "TokenRequest",
          metadata: {},
          spec: tokenRequestSpec(flags),
        });
      print(answer, flags.output, () => answer.status?.token ?? "");
      client.close();
    });

function tokenRequestSpec(flags: CreateFlags): TokenRequest["spec"] {
  const { audience, duration, boundObjectKind: kind, boundObjectName: name, boundObjectUid: uid } = flags;
  const milliseconds = duration === undefined ? undefined : parseDuration(duration);
  if (duration !== undefined && milliseconds === undefined) {
    throw new UsageError(`--duration: ${JSON.stringify(duration)} is not a duration such as 90s, 10m or 24h`);
  }
  if ((kind === undefined) !== (name === undefined)) {
    throw new UsageError("give --bound-object-kind and --bound-object-name together");
  }
  return {
    audiences: audience,
    ...(milliseconds !== undefined && { expirationSeconds: Math.round(milliseconds / 1000) }),
    ...(kind !== undefined &&
      name !== undefined && { boundObjectRef: { apiVersion: "v1", kind, name, ...(uid !== undefined && { uid }) } }),
  };
}

interface ReviewFlags extends ConnectionFlags {
  readonly output: OutputFormat;
  readonly audience: readonly string[];
}

const review = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("review")))
    .description("ask the server which user a token authenticates; exit code 1 when it authenticates no user")
    .argument("[token]", "the token; default: read from standard input, which keeps it out of the process list")
    .option(
      "--audience <audience>",
      "an audience that the token should have; may be repeated; default: the API server",
      collect,
      [],
    )
    .action(async (given: string | undefined, flags: ReviewFlags) => {
      const { client, names } = await connect(flags);
      const group = names.group("authentication");
      const answer = await client.request<TokenReview>("POST", `/apis/${group}/v1/tokenreviews`, {
        body: {
          apiVersion: `${group}/v1`,
          kind: "TokenReview",
          spec: {
            token: given ?? (await readStandardInput()),
            ...(flags.audience.length > 0 && { audiences: flags.audience }),
          },
        },
      });
      const { authenticated = false, user, audiences = [], error } = answer.status ?? {};
      print(answer, flags.output, () =>
        authenticated
          ? `authenticated: ${user?.username} (groups: ${user?.groups?.join(", ")}; audiences: ${audiences.join(", ")})`
          : `not authenticated${error === undefined ? "" : `: ${error}`}`,
      );
      if (!authenticated) process.exitCode = 1;
      client.close();
    });

const longestTokenBytes = 64 * 1024;

async function readStandardInput(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin) {
    text += String(chunk);
    if (text.length > longestTokenBytes)
      throw new UsageError("standard input is too long for a token: pipe only the token into this command");
  }
  return text.trim();
}
