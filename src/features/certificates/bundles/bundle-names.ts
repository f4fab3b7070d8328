/** The prefix of the names of a signer's bundles: `example.com:signer:` for `example.com/signer`. */
export const bundlePrefix = (signerName: string): string => `${signerName.replaceAll("/", ":")}:`;

/** The name of the bundle that the server publishes for a signer. */
export const publishedBundle = (signerName: string): string => `${bundlePrefix(signerName)}ca`;

/** The signer in the prefix of a bundle's name. For a bundle of no signer, returns a name that no signer has. */
export const signerOfBundle = (name: string): string => name.split(":", 2).join("/");
