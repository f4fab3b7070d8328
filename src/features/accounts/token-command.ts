import { Command, Option } from "commander";
import type { ApiObject } from "../../machinery/api/object-meta.ts";
import { isTokenText } from "../../machinery/client/is-token-text.ts";
import { postReview } from "../../machinery/client/post-review.ts";
import { UnreadableAnswer } from "../../machinery/client/transport.ts";
import { withConnectionFlags, withServer } from "../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../machinery/command-line/examples.ts";
import { exitCodes } from "../../machinery/command-line/command-failure.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { durationOption, repeatedOption, secondsOf } from "../../machinery/command-line/options.ts";
import { print, withAnswerOutputFlag } from "../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../machinery/command-line/output/output.ts";
import { outputFile, writePrivateOutput } from "../../machinery/command-line/output/output-file.ts";
import { printable } from "../../machinery/command-line/output/printable.ts";
import { nameWithoutKind } from "../../machinery/command-line/name-without-kind.ts";
import { revocationsCommand } from "../revocation/index.ts";
import { readTokenInput } from "./read-token-input.ts";
import type { TokenRequest } from "./token-request-schema.ts";
import type { TokenReview } from "./token-reviews.ts";
import { revokeToken } from "./token-revoke-command.ts";
import { serviceAccountResource } from "./resources.ts";

/** A request for a token, without what the server fills in. Its answer has a status. */
type SentTokenRequest = ApiObject &
  Pick<Partial<TokenRequest>, "status"> & { readonly spec: Partial<TokenRequest["spec"]> };

/** `signet token create|review|revoke|revocations`: issues, reviews and revokes service account tokens. */
export const token = (): Command =>
  new Command("token")
    .description("issue, review and revoke service account tokens")
    .addCommand(create())
    .addCommand(review())
    .addCommand(revokeToken())
    .addCommand(revocationsCommand("token"));

interface CreateFlags extends ConnectionFlags, OutputFlags {
  readonly audience?: readonly string[];
  /** Milliseconds. */
  readonly duration?: number;
  readonly boundObjectKind?: string;
  readonly boundObjectName?: string;
  readonly boundObjectUid?: string;
  readonly outputFile?: string;
}

const create = (): Command =>
  withExamples(
    withAnswerOutputFlag(withConnectionFlags(new Command("create")))
      .description("issue a token for a service account")
      .argument("<service-account>", "the account's name", nameWithoutKind("serviceaccount"))
      .addOption(repeatedOption("--audience <audience>", "an audience of the token; default: the API server"))
      .addOption(
        durationOption("--duration <duration>", "the lifetime, such as 10m or 30d; default: the server decides"),
      )
      .addOption(
        new Option(
          "--bound-object-kind <kind>",
          "bind the token to an object of this kind, and end it when the object is deleted",
        ).choices(["Pod", "Secret", "Node"]),
      )
      .option("--bound-object-name <name>", "the name of that object")
      .option(
        "--bound-object-uid <uid>",
        "the uid of that object; default: the uid of the current object with that name",
      )
      .addOption(
        new Option("--output-file <file>", "where to write it (0600); default: standard output").conflicts("output"),
      )
      .action(async (name: string, flags: CreateFlags) => {
        const spec = tokenRequestSpec(flags);
        const output = outputFile("--output-file", flags.outputFile);
        await withServer(flags, async (connection) => {
          const issued = await requestToken(connection, { account: name, spec });
          if (output === undefined) print(issued.answer, { flags, text: () => issued.token });
          else writePrivateOutput(output, `${issued.token}\n`);
        });
      }),
    ["A token for the API server", "signet token create robot --namespace team"],
    [
      "A token for another program, for ten minutes, in a file that only you can read",
      "signet token create robot --audience vault --duration 10m --output-file robot.token",
    ],
  );

interface IssuedToken {
  readonly answer: SentTokenRequest;
  readonly token: string;
}

/** Requests a token for a service account of the connection's namespace. Throws UnreadableAnswer when the answer contains no token. */
export async function requestToken(
  { client, names, namespace }: Pick<ServerConnection, "client" | "names" | "namespace">,
  { account, spec }: { readonly account: string; readonly spec: SentTokenRequest["spec"] },
): Promise<IssuedToken> {
  const answer = await client
    .resource(serviceAccountResource(names), namespace)
    .createSubresource<SentTokenRequest>(account, {
      subresource: "token",
      object: { apiVersion: `${names.group("authentication")}/v1`, kind: "TokenRequest", metadata: {}, spec },
    });
  const issued: unknown = answer.status?.token; // the server may answer with anything
  if (typeof issued !== "string" || !isTokenText(issued)) throw new UnreadableAnswer("the answer holds no token");
  return { answer, token: issued };
}

function tokenRequestSpec(flags: CreateFlags): SentTokenRequest["spec"] {
  const { audience = [], duration, boundObjectKind: kind, boundObjectName: name, boundObjectUid: uid } = flags;
  if ((kind === undefined) !== (name === undefined)) {
    throw new UsageError("give --bound-object-kind and --bound-object-name together");
  }
  if (uid !== undefined && kind === undefined) {
    throw new UsageError("--bound-object-uid: give --bound-object-kind and --bound-object-name too");
  }
  return {
    audiences: [...audience],
    ...(duration !== undefined && { expirationSeconds: secondsOf(duration) }),
    ...(kind !== undefined &&
      name !== undefined && { boundObjectRef: { apiVersion: "v1", kind, name, ...(uid !== undefined && { uid }) } }),
  };
}

interface ReviewFlags extends ConnectionFlags, OutputFlags {
  readonly audience?: readonly string[];
}

const review = (): Command =>
  withExamples(
    withAnswerOutputFlag(withConnectionFlags(new Command("review")))
      .description("ask the server which user a token authenticates; the exit code is 1 when it authenticates no user")
      .argument("[token]", "the token; default: read from standard input, which keeps it out of the process list")
      .addOption(
        repeatedOption("--audience <audience>", "an audience that the token should have; default: the API server"),
      )
      .action(async (given: string | undefined, flags: ReviewFlags) => {
        const reviewed = given ?? (await readTokenInput());
        await withServer(flags, (connection) => reviewToken(connection, { reviewed, flags }));
      }),
    ["Check a token in a file", "signet token review < token"],
    ["As the program does that received it", 'signet token review "$TOKEN" --audience vault'],
  );

async function reviewToken(
  { client, names }: ServerConnection,
  { reviewed, flags }: { readonly reviewed: string; readonly flags: ReviewFlags },
): Promise<void> {
  const answer = await postReview<Partial<TokenReview>>(client, {
    group: names.group("authentication"),
    kind: "TokenReview",
    spec: { token: reviewed, ...(flags.audience !== undefined && { audiences: flags.audience }) },
  });
  const { authenticated = false, user, audiences = [], error } = answer.status ?? {};
  const text = authenticated
    ? `authenticated: ${user?.username ?? ""} (groups: ${user?.groups?.join(", ") ?? ""}; audiences: ${audiences.join(", ")})`
    : `not authenticated${error === undefined ? "" : `: ${error}`}`;
  print(answer, { flags, text: () => printable(text) });
  if (!authenticated) process.exitCode = exitCodes.refused.code;
}
