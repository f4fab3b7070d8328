/** A text in which URLs show no user and no password (RFC 3986 section 3.2.1), for logs and messages. They need not be valid URLs. */
export const withoutUrlPasswords = (text: string): string => text.replace(/\/\/[^/]*@/g, "//(left out)@");
