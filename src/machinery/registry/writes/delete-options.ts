import { badRequest } from "../../api/api-error.ts";
import { NamedText } from "../../api/text/format-value.ts";
import { invalidValue, notSupported } from "../../api/validation/field-error.ts";
import { deleteOptionsSchema } from "../../schema/meta-schemas.ts";
import { TypeMismatch } from "../../schema/decode-faults.ts";
import { CompiledSchema } from "../definition/compiled-schema.ts";
import { parametersOf, parseBoolean, parseInteger } from "../query-values.ts";
import { invalidOptions, validateDryRun } from "./write-options.ts";

/** The options of a deletion. Options that were not given are absent. */
export interface DeleteOptions {
  readonly isDryRun: boolean;
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** What happens to dependent objects. */
  readonly propagationPolicy?: PropagationPolicy;
  /** As given by the client. The deprecated form of `propagationPolicy`, which is set accordingly. */
  readonly orphanDependents?: boolean;
  readonly gracePeriodSeconds?: number;
}

type PropagationPolicy = "Foreground" | "Background" | "Orphan";

/** The options as the client sent them. */
interface SentOptions {
  readonly dryRun?: readonly string[];
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly orphanDependents?: boolean;
  readonly propagationPolicy?: string;
  readonly gracePeriodSeconds?: number;
}

/** Parses the query of a deletion that has no body. Throws 400 and 422. */
export function deleteOptionsOfQuery(query: string): DeleteOptions {
  if (query === "") return { isDryRun: false };
  const parameters = parametersOf(query);
  const gracePeriodSeconds = parseInteger(parameters, "gracePeriodSeconds");
  const orphanDependents = parseBoolean(parameters, "orphanDependents");
  const propagationPolicy = parameters.get("propagationPolicy");
  const uid = parameters.get("uid") ?? "";
  const resourceVersion = parameters.get("resourceVersion") ?? "";
  return checkedDeleteOptions({
    dryRun: parameters.getAll("dryRun"),
    preconditions: { ...(uid !== "" && { uid }), ...(resourceVersion !== "" && { resourceVersion }) },
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(orphanDependents !== undefined && { orphanDependents }),
    ...(propagationPolicy !== null && { propagationPolicy }),
  });
}

/** Checks the parsed body of a deletion, whose kind the caller has checked. Throws 400 and 422. */
export const deleteOptionsOfBody = (body: unknown): DeleteOptions => checkedDeleteOptions(decodeOptions(body));

export const compiledDeleteOptions = new CompiledSchema(deleteOptionsSchema);

function decodeOptions(body: unknown): SentOptions {
  try {
    return compiledDeleteOptions.decode(body).value;
  } catch (error) {
    if (error instanceof TypeMismatch) throw badRequest(error.message);
    throw error;
  }
}

/** Checks decoded options. Throws a 422. */
export function checkedDeleteOptions(sent: SentOptions): DeleteOptions {
  const { dryRun = [], preconditions = {}, orphanDependents, propagationPolicy, gracePeriodSeconds } = sent;
  const faults = [
    ...(orphanDependents !== undefined && propagationPolicy !== undefined
      ? [
          invalidValue("propagationPolicy", {
            value: new NamedText(propagationPolicy),
            detail: "orphanDependents and deletionPropagation cannot be both set",
          }),
        ]
      : []),
    ...(propagationPolicy === undefined || isPropagationPolicy(propagationPolicy)
      ? []
      : [
          notSupported("propagationPolicy", {
            value: new NamedText(propagationPolicy),
            supported: ["Foreground", "Background", "Orphan", "nil"],
          }),
        ]),
    ...validateDryRun(dryRun),
    ...compiledDeleteOptions.inexactIntegers(sent),
  ];
  if (faults.length > 0) throw invalidOptions("DeleteOptions", faults);
  const policy = orphanDependents === undefined ? propagationPolicy : orphanDependents ? "Orphan" : "Background";
  return {
    isDryRun: dryRun.length > 0,
    ...preconditions,
    ...(policy !== undefined && isPropagationPolicy(policy) && { propagationPolicy: policy }),
    ...(orphanDependents !== undefined && { orphanDependents }),
    // As upstream: a negative period means one second.
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds: gracePeriodSeconds < 0 ? 1 : gracePeriodSeconds }),
  };
}

const isPropagationPolicy = (text: string): text is PropagationPolicy =>
  text === "Foreground" || text === "Background" || text === "Orphan";
