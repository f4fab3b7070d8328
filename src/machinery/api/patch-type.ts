/** The media type of each type of patch. */
export const patchMediaTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  "strategic-merge": "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

export type PatchType = keyof typeof patchMediaTypes;
