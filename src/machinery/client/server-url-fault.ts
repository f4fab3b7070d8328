import { isHttpsUrl } from "../api/addresses/is-https-url.ts";
import { withoutUrlPasswords } from "../api/addresses/without-url-passwords.ts";

/** Why a client cannot use the URL of a server: a sentence that begins with the URL, without its password. Undefined: it can use it. */
export function serverUrlFault(url: string): string | undefined {
  if (!isHttpsUrl(url)) {
    return `${JSON.stringify(withoutUrlPasswords(url))} is not a URL such as https://signet.example.com:6443`;
  }
  const { username, password } = new URL(url);
  if (username === "" && password === "") return undefined;
  return `${JSON.stringify(withoutUrlPasswords(url))} has a user or a password in it, which are not used; remove them`;
}
