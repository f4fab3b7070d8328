import { join } from "node:path";

/** The store's folder in a data directory. */
export const storeDirectory = (dataDirectory: string): string => join(dataDirectory, "store");

/** The administrator's certificate and key. A server makes it when it begins to serve. */
export const administratorFile = (dataDirectory: string): string => join(dataDirectory, "admin.pem");

/** The folder with what an unfinished restore has made. It exists only until the restore is complete. */
export const unfinishedRestore = (dataDirectory: string): string => join(dataDirectory, "unfinished-restore");
