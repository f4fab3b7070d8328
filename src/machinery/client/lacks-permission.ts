/**
 * Whether the message of a 403 says that no role allows the request. Policies and other rules also refuse with a 403, but their messages
 * name no permission.
 */
export const lacksPermission = (message: string): boolean =>
  / cannot \S+ (resource|path) | not permitted to | attempting to grant /.test(message);
