/** What the check of one subject has found, and why. */
export interface CheckFinding {
  readonly state: "ok" | "FAULT" | "not checked";
  readonly why?: string;
}

export const ok: CheckFinding = { state: "ok" };
export const faulty = (why: string): CheckFinding => ({ state: "FAULT", why });
export const notChecked = (why: string): CheckFinding => ({ state: "not checked", why });
