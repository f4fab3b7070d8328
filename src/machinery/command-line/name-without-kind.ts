/**
 * Reads the name of an object of a kind, as a person types it, or as `-o name` prints it here and in kubectl: `role.GROUP/NAME`. Names of
 * objects contain no slash, so the two forms differ.
 */
export const nameWithoutKind =
  (kind: string) =>
  (given: string): string => {
    const [before = "", name, ...more] = given.split("/");
    const isPrefixed = before === kind || before.startsWith(`${kind}.`);
    return isPrefixed && name !== undefined && more.length === 0 ? name : given;
  };
