/** The ledger's id of a call of a reply, by its place among the reply's calls. */
export function ledgerIdOf(replyId: string, index: number): string {
  return `${replyId}/${index}`;
}
