import { Command } from "commander";
import { withConnectionFlags, withServer } from "../../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { postReview } from "../../../machinery/client/post-review.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import { exitCodes } from "../../../machinery/command-line/command-failure.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { print, withAnswerOutputFlag } from "../../../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../../../machinery/command-line/output/output.ts";
import { printable } from "../../../machinery/command-line/output/printable.ts";
import type { SelfSubjectRulesReview } from "../reviews/self-subject-rules-reviews.ts";
import type { AccessReviewStatus } from "../reviews/subject-access-reviews.ts";
import { ruleTable } from "./rule-table.ts";
import { findResource, knownResources } from "./known-resources.ts";
import { warnOfUnknownVerbs } from "./unknown-verbs.ts";

interface CanIFlags extends ConnectionFlags, OutputFlags {
  readonly list?: boolean;
  readonly subresource?: string;
  readonly allNamespaces?: boolean;
  readonly quiet?: boolean;
}

/** `signet auth can-i`: asks the server's authorizers, as kubectl's command of this name. */
export const canI = (): Command =>
  withExamples(
    withAnswerOutputFlag(withConnectionFlags(new Command("can-i")))
      .description("ask whether you may do something; the exit code is 1 when you may not")
      .argument("[verb]", "get, list, watch, create, update, patch, delete, approve, ...; * is every verb")
      .argument("[resource]", "a resource (pods, csr, deployments.apps), RESOURCE/NAME, or a path that begins with /")
      .argument("[name]", "the name of one object")
      .option("--list", "list everything that you may do in the namespace")
      .option("--subresource <name>", "ask about a subresource, such as token or approval")
      .option("-A, --all-namespaces", "ask about all namespaces")
      .option("-q, --quiet", "print nothing: the exit code is the answer")
      .action(
        // oxlint-disable-next-line max-params -- commander passes the arguments one by one
        async (verb: string | undefined, resource: string | undefined, name: string | undefined, flags: CanIFlags) => {
          if (flags.list === true) {
            if (verb !== undefined) throw new UsageError("--list asks about everything: give no verb and no resource");
            return withServer(flags, (connection) => listRules(connection, flags));
          }
          if (verb === undefined || resource === undefined) {
            throw new UsageError("say what you want to do: a verb and a resource, as in signet auth can-i create csr");
          }
          return withServer(flags, (connection) => ask(connection, { verb, resource, name, flags }));
        },
      ),
    ["Whether you may create certificate requests", "signet auth can-i create csr"],
    [
      "Whether you may create tokens for an account",
      "signet auth can-i create serviceaccounts/robot --subresource token",
    ],
    ["Whether anna may read Secrets in all namespaces", "signet auth can-i get secrets --all-namespaces --as anna"],
    ["Everything that you may do in a namespace", "signet auth can-i --list --namespace team"],
  );

interface Question {
  readonly verb: string;
  readonly resource: string;
  readonly name: string | undefined;
  readonly flags: CanIFlags;
}

async function ask(connection: ServerConnection, question: Question): Promise<void> {
  const { client, names } = connection;
  const review = await postReview<{ readonly status?: Partial<AccessReviewStatus> }>(client, {
    group: names.group("authorization"),
    kind: "SelfSubjectAccessReview",
    spec: question.resource.startsWith("/") ? pathSpec(question) : await resourceSpec(connection, question),
  });
  const { allowed = false, reason = "", evaluationError = "" } = review.status ?? {};
  const details = [reason, evaluationError].filter((text) => text !== "").join("; ");
  const text = (): string => (allowed ? "yes" : `no${details === "" ? "" : ` - ${printable(details)}`}`);
  if (question.flags.quiet !== true) print(review, { flags: question.flags, text });
  if (!allowed) process.exitCode = exitCodes.refused.code;
}

function pathSpec({ verb, resource: path, name, flags }: Question): object {
  warnOfUnknownVerbs([verb], { areOfResources: false, areOfPaths: true });
  if (name !== undefined || flags.subresource !== undefined) {
    throw new UsageError("a path has neither a name nor a subresource; ask only about the path");
  }
  return { nonResourceAttributes: { path, verb } };
}

async function resourceSpec(connection: ServerConnection, { verb, resource, name, flags }: Question): Promise<object> {
  warnOfUnknownVerbs([verb], { areOfResources: true, areOfPaths: false });
  const { subresource, allNamespaces } = flags;
  const [type = "", nameInType, ...rest] = resource.split("/");
  if (rest.length > 0 || (nameInType !== undefined && name !== undefined)) {
    throw new UsageError("name one object: RESOURCE/NAME, or RESOURCE NAME; --subresource is for subresources");
  }
  const { names } = connection;
  const found = type === "*" ? undefined : findResource(await knownResources(connection), { wanted: type, names });
  if (found === undefined && type !== "*") {
    console.error(`warning: the server has no resource ${JSON.stringify(type)}; the question is sent anyway`);
  }
  const isNamespaced = (found?.isNamespaced ?? true) && allNamespaces !== true;
  return {
    resourceAttributes: {
      verb,
      group: type === "*" ? "*" : (found?.group ?? groupIn(type)),
      resource: found?.resource ?? type.split(".", 1)[0],
      ...(subresource !== undefined && { subresource }),
      ...(isNamespaced && { namespace: connection.namespace }),
      ...((nameInType ?? name) !== undefined && { name: nameInType ?? name }),
    },
  };
}

const groupIn = (type: string): string => (type.includes(".") ? type.slice(type.indexOf(".") + 1) : "");

async function listRules({ client, names, namespace }: ServerConnection, flags: CanIFlags): Promise<void> {
  const review = await postReview<{ readonly status?: Partial<SelfSubjectRulesReview["status"]> }>(client, {
    group: names.group("authorization"),
    kind: "SelfSubjectRulesReview",
    spec: { namespace },
  });
  const { resourceRules, nonResourceRules, incomplete = false, evaluationError = "" } = review.status ?? {};
  const rules = [...(resourceRules ?? []), ...(nonResourceRules ?? [])];
  print(review, { flags, text: () => ruleTable(rules, flags) });
  if (incomplete) console.error(`warning: the list may be incomplete: ${printable(evaluationError)}`);
}
