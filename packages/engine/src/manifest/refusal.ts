type HeaderList = ConstructorParameters<typeof Headers>[0];

/** What a user's code refuses a request with: status, text and headers are its own. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly headers: Headers;

  constructor(status: number, message: string, headers?: HeaderList) {
    super(message);
    this.status = status;
    this.headers = new Headers(headers);
  }
}

/** An `HTTPException` of LangGraph's SDK or of Hono, of any version of them; `undefined` for any other error. */
export function toRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (!(error instanceof Error) || !("status" in error) || typeof error.status !== "number") return undefined;
  if (!Number.isInteger(error.status) || error.status < 400 || error.status > 599) return undefined;
  // Hono's has no headers of its own, the SDK's has those it was given.
  const headers = "headers" in error ? (error.headers as HeaderList) : undefined;
  return new Refusal(error.status, error.message || "Unauthorized", headers);
}
