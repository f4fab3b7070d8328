/**
 * Whether the message of a 403 says that roles do not allow the request. Policies and other rules refuse with a 403, too, whatever roles
 * allow: their messages name no permission.
 */
export const lacksPermission = (message: string): boolean =>
  / cannot \S+ (resource|path) | not permitted to | attempting to grant /.test(message);
