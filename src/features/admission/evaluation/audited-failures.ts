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
 * Records the failures of one request whose bindings have the action Audit. All are in one annotation, a list, each of them once: a request
 * may write several objects (`deletecollection`), and is decided again after a conflict. Upstream's list has the first failure alone,
 * because its annotations cannot be changed.
 */
export class AuditedFailures {
  static readonly #ofRequests = new WeakMap<AdmissionRecorder, AuditedFailures>();
  readonly #recorder: AdmissionRecorder;
  readonly #failures = new Set<string>();
  #length = 0;

  private constructor(recorder: AdmissionRecorder) {
    this.#recorder = recorder;
  }

  /** The failures of the request that has this recorder. */
  static of(recorder: AdmissionRecorder): AuditedFailures {
    const known = AuditedFailures.#ofRequests.get(recorder) ?? new AuditedFailures(recorder);
    AuditedFailures.#ofRequests.set(recorder, known);
    return known;
  }

  add(failure: AuditedFailure): void {
    const text = JSON.stringify(failure);
    if (this.#failures.has(text) || (this.#length > 0 && this.#length + text.length > longestList)) return;
    this.#failures.add(text);
    this.#length += text.length;
    const list = `[${[...this.#failures].join(",")}]`;
    this.#recorder.annotate?.({ "validation.policy.admission.k8s.io/validation_failure": list });
  }
}
