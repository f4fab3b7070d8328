import { readPrivateFile } from "../../machinery/files/private-file.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";

/** Java refuses shorter passwords. */
const shortestPassword = 6;

/** The password of a trust store when none is given. Java's own tools use it, and it protects nothing. */
export const customaryPassword = "changeit";

/** Reads the password of a PKCS #12 or JKS store. Throws UnusableFile. */
export function readStorePassword(file: string): string {
  const password = readPrivateFile(file)?.replace(/\r?\n$/, "");
  if (password === undefined) throw new UnusableFile(`${file}: the password file is missing`);
  if (password.length < shortestPassword || !/^[ -~]{1,128}$/.test(password)) {
    throw new UnusableFile(`${file}: the password must have ${shortestPassword} to 128 visible ASCII characters`);
  }
  return password;
}
