/**
 * A text in which URLs show no user and no password (RFC 3986 section 3.2.1), for logs and messages. The URLs need not be valid: a password
 * may contain slashes.
 */
export const withoutUrlPasswords = (text: string): string => text.replace(/\/\/(?:\S*|[^/]*)@/g, "//(left out)@");
