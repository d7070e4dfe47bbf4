import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";

const Failure = z.object({
  code: z.string().optional().catch(undefined),
  message: z.string().catch(""),
  /** Where in PostgreSQL's source it was raised; unlike the message never translated. */
  routine: z.string().optional().catch(undefined),
});
const noFailure = { code: undefined, message: "", routine: undefined };

/**
 * Connections that could not be made or were cut, by the system or the server (08, 57P, 25P), and statements that the
 * server has ended, has no room for, or does not take while it is a copy of another one.
 */
const lost = /^(E[A-Z]+|08...|57P0.|57014|53[0234]00|25006|25P0[34])$/u;
/** What Node says of a certificate that it does not trust, and of a server without one. */
const untrusted = /CERT|SSL|TLS|VERIFY_LEAF/u;
/** What `pg` says of connections without giving a code. */
const lostSaid = /timeout|terminated|not queryable|closed/iu;
/** Refusals caused by another transaction: the work is tried again. */
const collided = new Set(["40001", "40P01", "55P03"]);

/** Characters that PostgreSQL has no place for, in a text or in JSON. */
const unreadable = /^22(021|P02|P05)$/u;

/** Whether the same may go well when it is tried again at once. */
export function isCollision(error: unknown): boolean {
  const { code } = Failure.catch(noFailure).parse(error);
  return (code !== undefined && collided.has(code)) || isStalePlan(error);
}

/** Whether a prepared statement gives other columns than when it was planned: a migration came between. It was not run. */
export function isStalePlan(error: unknown): boolean {
  const { code, routine } = Failure.catch(noFailure).parse(error);
  return code === "0A000" && routine === "RevalidateCachedQuery";
}

/** Whether a row could not be written because another one is like it; also where that is what `error` comes of. */
export function isTaken(error: unknown): boolean {
  const failure = error instanceof AppError ? error.cause : error;
  return Failure.catch(noFailure).parse(failure).code === "23505";
}

/**
 * What a failure of PostgreSQL is to the rest of the server: an `AppError` that names the setting and the remedy, and
 * never the password. `place` is the database as `host:port/name`. An `AppError` stays itself.
 */
export function toStorageError(error: unknown, place: string): AppError {
  if (error instanceof AppError) return error;
  const { code = "", message } = Failure.catch({ ...noFailure, message: String(error) }).parse(error);
  const said = `PostgreSQL at ${place}: ${message}`;
  const toAppError = (kind: AppError["code"], suggestion: string, recoverable = false): AppError =>
    new AppError(kind, said, { cause: error, suggestion, recoverable });
  if (code === "28P01" || code === "28000" || (code === "" && /password/iu.test(message)))
    return toAppError("config", "Check the user and the password in MILLRACE_DATABASE.");
  if (untrusted.test(code) || (code === "" && untrusted.test(message)))
    return toAppError("config", "Check sslmode in MILLRACE_DATABASE, and the certificate of PostgreSQL.");
  if (code === "3D000")
    return toAppError("config", "Create the database (createdb), or correct its name in MILLRACE_DATABASE.");
  if (code === "42501")
    return toAppError("storage_readonly", "Grant the user of MILLRACE_DATABASE all rights on the database.");
  if (code === "53100")
    return toAppError("storage_full", "Free some space on the disk of the PostgreSQL in MILLRACE_DATABASE.", true);
  if (code === "XX001" || code === "XX002") return toAppError("storage_corrupt", "Restore the database from a backup.");
  if (unreadable.test(code)) {
    return toAppError(
      "invalid_parameter",
      "Leave the character NUL and halves of surrogate pairs out of identifiers and names.",
    );
  }
  if (lost.test(code) || (code === "" && lostSaid.test(message))) {
    return toAppError("storage_unavailable", "Check that PostgreSQL runs at the address in MILLRACE_DATABASE.", true);
  }
  return toAppError("storage_io", "Look into the log of PostgreSQL.");
}
