import { AppError } from "@millrace/engine/errors/errors";

/** Refuses, with 403, to let an owner change what all owners share. */
export function requireAdministration(mayAdminister: boolean): void {
  if (mayAdminister) return;
  throw new AppError("permission", "This belongs to all owners, and this key may only read it.", {
    suggestion: "Use a key of the owner admin.",
  });
}
