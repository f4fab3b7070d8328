import { named, string, time } from "./schema.ts";
import { omitEmpty, required } from "./struct.ts";

/** The fields that the conditions of objects share, under upstream's numbers. `typeName` is the Go type of `type`. */
export const conditionFields = (typeName: string, typeDescription = "The kind of the condition.") =>
  ({
    type: required(1, named(string, typeName), typeDescription),
    status: required(2, named(string, "v1.ConditionStatus"), "True, False or Unknown."),
    lastTransitionTime: omitEmpty(4, time, "When the status last changed."),
    reason: omitEmpty(5, string, "The reason as one CamelCase word, for programs."),
    message: omitEmpty(6, string, "The reason as a sentence, for people."),
  }) as const;
