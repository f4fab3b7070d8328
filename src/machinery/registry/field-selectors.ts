/** Upstream's error for an unsupported field selector, for kinds without their own selectable fields. */
export const onlyNameAndNamespaceSelectable = (label: string): string =>
  `${JSON.stringify(label)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
