/**
 * What an authenticator or a token verifier says without naming a user: there is nothing of its kind; or there is, but it is
 * refused, and why (never with the credential in it).
 */
export type NotAuthenticated =
  { readonly outcome: "notApplicable" } | { readonly outcome: "refused"; readonly message: string };

export const notApplicable: NotAuthenticated = { outcome: "notApplicable" };
export const refused = (message: string): NotAuthenticated => ({ outcome: "refused", message });
