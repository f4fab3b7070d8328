/** The only key of the fake token: for tests alone. */
export const fakeKeyPem = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgVb+caEoEeA6Mi7Mk
1mNyInuhEE1sNreo6AtqZO+ylA2hRANCAATEu6LA/EijGo/6I/Xkd67Hk3H1uH5B
BCce98uQWjpjqwAL1eUC0HsQNm5OVSMb7Uadug46mBTM7BTh/Qh3s5wt
-----END PRIVATE KEY-----
`;
