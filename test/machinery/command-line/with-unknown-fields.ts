/** A settings file's contents with an unknown field in each mapping, like a misspelt restriction. */
export function* withUnknownFields(
  content: unknown,
  path = "",
): Generator<{ readonly path: string; content: unknown }> {
  if (Array.isArray(content)) {
    for (const [index, entry] of content.entries()) {
      for (const inside of withUnknownFields(entry, `${path}[${index}]`)) {
        yield { path: inside.path, content: content.with(index, inside.content) };
      }
    }
  } else if (typeof content === "object" && content !== null) {
    const unknown = "notAField";
    yield { path: path === "" ? unknown : `${path}.${unknown}`, content: { ...content, [unknown]: 1 } };
    for (const [name, value] of Object.entries(content)) {
      for (const inside of withUnknownFields(value, path === "" ? name : `${path}.${name}`)) {
        yield { path: inside.path, content: { ...content, [name]: inside.content } };
      }
    }
  }
}
