/** A host as URLs name it: an IPv6 address in brackets (RFC 3986 3.2.2). */
export const urlHost = (host: string): string => (host.includes(":") ? `[${host}]` : host);
