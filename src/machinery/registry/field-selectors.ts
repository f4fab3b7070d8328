/** How upstream refuses a field selector of kinds that list no selectable fields of their own. */
export const onlyNameAndNamespaceSelectable = (label: string): string =>
  `${JSON.stringify(label)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
