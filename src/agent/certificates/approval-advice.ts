/** Who can approve a certificate request, and how. */
export const approvalAdvice = (signerName: string, request: string): string =>
  `a user who may "approve" for the signer ${signerName} can run: signet csr approve ${request}`;
