import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { tokenDigest } from "../../../machinery/authentication/token-digest.ts";

/**
 * Reads a token file: CSV with one `token,user,uid[,"group1,group2"]` per line (upstream: `tokenfile.NewCSV`). Skips
 * blank lines and lines that start with `#`. Throws an Error that names the line when it has too few columns, no token,
 * no user, or a repeated token. The message never quotes the line.
 */
export function parseTokenFile(csv: string): (token: string) => UserInfo | undefined {
  const digest = tokenDigest();
  const users = new Map<string, UserInfo>();

  csv.split("\n").forEach((line, index) => {
    if (line.trim() === "" || line.startsWith("#")) return;
    const fault = (message: string): Error => new Error(`token file line ${index + 1}: ${message}`);
    const columns = csvColumns(line.replace(/\r$/, ""));
    if (columns === undefined) throw fault('a quote is not closed; write "group1,group2"');
    const [token = "", username = "", uid = "", groups = ""] = columns;
    if (columns.length < 3) throw fault("token, user and uid are required; write them with commas between");
    if (token === "") throw fault("the token is empty; write one before the first comma");
    if (username === "") throw fault("the user is empty; write one behind the token");
    const key = digest(token);
    if (users.has(key)) throw fault("the token is already on an earlier line; remove one of them");
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

/** The columns of one line (RFC 4180 section 2, without line breaks in fields). Undefined when a quote is not closed. */
function csvColumns(line: string): string[] | undefined {
  const columns: string[] = [];
  const column = /\s*"((?:[^"]|"")*)"\s*,|([^",]*),/y;
  const text = `${line},`; // makes every column end with a comma
  while (column.lastIndex < text.length) {
    const match = column.exec(text);
    if (match === null) return undefined;
    columns.push(match[1] === undefined ? (match[2] ?? "").trim() : match[1].replaceAll('""', '"'));
  }
  return columns;
}
