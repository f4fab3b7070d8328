import { invalidValue, required } from "../../machinery/api/field-error.ts";
import type { FieldError } from "../../machinery/api/field-error.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { Secret } from "./secrets.ts";

/** What a secret's type requires of its data and annotations. Other types require nothing. */
export function validateSecretType(secret: Secret, names: Names): FieldError[] {
  const { type, data = {}, metadata } = secret;
  const missing = (key: string): FieldError[] => (Object.hasOwn(data, key) ? [] : [required(`data[${key}]`, "")]);
  switch (type ?? "") {
    case names.key("service-account-token"): {
      const key = names.key("service-account.name");
      const isNamed = (metadata.annotations?.[key] ?? "") !== "";
      return isNamed ? [] : [required(`metadata.annotations[${key}]`, "")];
    }
    case names.key("dockercfg"):
      return validateJsonObject(data, ".dockercfg");
    case names.key("dockerconfigjson"):
      return validateJsonObject(data, ".dockerconfigjson");
    case names.key("basic-auth"): {
      const faults = [...missing("username"), ...missing("password")];
      return faults.length === 2 ? faults : [];
    }
    case names.key("ssh-auth"):
      return (data["ssh-privatekey"] ?? "") === "" ? [required("data[ssh-privatekey]", "")] : [];
    case names.key("tls"):
      return [...missing("tls.crt"), ...missing("tls.key")];
    default:
      return [];
  }
}

function validateJsonObject(data: Readonly<Record<string, string>>, key: string): FieldError[] {
  const field = `data[${key}]`;
  const content = data[key];
  if (content === undefined) return [required(field, "")];
  return isJsonObject(Buffer.from(content, "base64").toString())
    ? []
    : [invalidValue(field, "<secret contents redacted>", "must be a JSON object")];
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return value === null || (typeof value === "object" && !Array.isArray(value));
  } catch {
    return false;
  }
}
