import type { AdmissionRecorder } from "../../../machinery/api/attributes.ts";

/** A failed validation, as upstream records it. */
interface AuditedFailure {
  readonly message: string;
  readonly policy: string;
  readonly binding: string;
  readonly expressionIndex: number;
  readonly validationActions: readonly string[];
}

/** The most characters of the annotation. Later failures are left out, except when there is no other. */
const longestList = 64 * 1024;

/**
 * Records the failures of one write whose bindings have the action Audit. All are in one annotation, a list. Upstream's has the first
 * alone, because its annotations cannot be changed.
 */
export class AuditedFailures {
  readonly #recorder: AdmissionRecorder;
  #list = "";

  constructor(recorder: AdmissionRecorder) {
    this.#recorder = recorder;
  }

  add(failure: AuditedFailure): void {
    const text = JSON.stringify(failure);
    if (this.#list !== "" && this.#list.length + text.length > longestList) return;
    this.#list += this.#list === "" ? text : `,${text}`;
    this.#recorder.annotate?.({ "validation.policy.admission.k8s.io/validation_failure": `[${this.#list}]` });
  }
}
