/**
 * Reads the name of an object of a kind, as a person types it, or as `-o name` prints it here and in kubectl: `role.GROUP/NAME`.
 * No name of an object holds a slash, so nothing else is taken for that.
 */
export const nameWithoutKind =
  (kind: string) =>
  (given: string): string => {
    const [before = "", name, ...more] = given.split("/");
    const isPrefixed = before === kind || before.startsWith(`${kind}.`);
    return isPrefixed && name !== undefined && more.length === 0 ? name : given;
  };
