/** Why a certificate on a machine can't have a name, with which the names of its requests begin. Undefined when it can. */
export const certificateNameFault = (name: string): string | undefined =>
  /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(name)
    ? undefined
    : "must be 1 to 40 lower case letters, digits and hyphens";
