/** The permissions of a file in octal digits, as chmod(1) takes them: `0600`. */
export const modeText = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, "0");
