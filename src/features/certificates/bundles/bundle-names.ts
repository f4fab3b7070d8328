/** How the names of all bundles of a signer begin: `example.com:signer:` for `example.com/signer`. */
export const bundlePrefix = (signerName: string): string => `${signerName.replaceAll("/", ":")}:`;

/** The bundle that the server publishes for a signer. */
export const publishedBundle = (signerName: string): string => `${bundlePrefix(signerName)}ca`;

/** The signer that a bundle's name begins with. No signer has the name that it returns for a bundle of none. */
export const signerOfBundle = (name: string): string => name.split(":", 2).join("/");
