export { certificates } from "./commands/certificates-command.ts";
export { csr } from "./commands/csr-command.ts";
export { requestClientCertificate } from "./commands/request-client-certificate.ts";
export { lifetimeOption } from "./commands/lifetime-option.ts";
export { trust } from "./commands/trust-command.ts";
