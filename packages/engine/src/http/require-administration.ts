import { AppError } from "../errors/errors.ts";
import { servicesOf, type HttpContext } from "./environment.ts";

/** Refuses, with 403, to let an owner change what all owners share. */
export function requireAdministration(context: HttpContext): void {
  if (servicesOf(context).mayAdminister) return;
  throw new AppError("permission", "This belongs to all owners, and this key may only read it.", {
    suggestion: "Use a key of the owner admin.",
  });
}
