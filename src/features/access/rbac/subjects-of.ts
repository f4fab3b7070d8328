interface Bound<S> {
  readonly metadata: { readonly namespace?: string };
  readonly subjects?: readonly S[];
}

/** The subjects of a binding. A service account without a namespace gets the binding's namespace (upstream: `appliesToUser`). */
export const subjectsOf = <S extends { readonly kind: string; readonly namespace?: string }>({
  metadata: { namespace = "" },
  subjects = [],
}: Bound<S>): readonly S[] =>
  subjects.map((subject) => (subject.kind === "ServiceAccount" ? { namespace, ...subject } : subject));
