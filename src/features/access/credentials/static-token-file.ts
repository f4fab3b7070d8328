import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { tokenDigest } from "../../../machinery/authentication/token-digest.ts";

/**
 * Reads a token file: one `token,user,uid[,"group1,group2"]` a line, as CSV (upstream: `tokenfile.NewCSV`). Blank lines and
 * lines that begin with `#` are passed over. Throws an Error that names the line for one with fewer columns, without a
 * token or a user, or with a token that was there before; it never quotes the line.
 */
export function parseTokenFile(csv: string): (token: string) => UserInfo | undefined {
  const digest = tokenDigest();
  const users = new Map<string, UserInfo>();

  csv.split("\n").forEach((line, index) => {
    if (line.trim() === "" || line.startsWith("#")) return;
    const fault = (message: string): Error => new Error(`token file line ${index + 1}: ${message}`);
    const columns = csvColumns(line.replace(/\r$/, ""));
    if (columns === undefined) throw fault("quotes do not match");
    const [token = "", username = "", uid = "", groups = ""] = columns;
    if (columns.length < 3) throw fault("token, user and uid are required");
    if (token === "") throw fault("the token is empty");
    if (username === "") throw fault("the user is empty");
    const key = digest(token);
    if (users.has(key)) throw fault("the token was there before");
    users.set(key, {
      username,
      ...(uid !== "" && { uid }),
      groups: groups
        .split(",")
        .map((group) => group.trim())
        .filter((group) => group !== ""),
      extra: {},
    });
  });
  return (token) => users.get(digest(token));
}

/** The columns of one line (RFC 4180 section 2; fields hold no line breaks). Undefined when quotes do not match. */
function csvColumns(line: string): string[] | undefined {
  const columns: string[] = [];
  const column = /\s*"((?:[^"]|"")*)"\s*,|([^",]*),/y;
  const text = `${line},`; // so that every column ends in a comma
  while (column.lastIndex < text.length) {
    const match = column.exec(text);
    if (match === null) return undefined;
    columns.push(match[1] === undefined ? (match[2] ?? "").trim() : match[1].replaceAll('""', '"'));
  }
  return columns;
}
