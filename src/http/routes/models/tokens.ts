import type { BaseMessage } from "@langchain/core/messages";
import { Hono } from "hono";
import { z } from "zod";
import { yieldingCheck } from "@millrace/engine/concurrency/abort";
import { countImage, ImageDetail } from "../../../context/tokens/image-tokens.ts";
import { countMessagesExactly, type CountedText } from "../../../context/tokens/token-counter.ts";
import { countMessages, countText } from "../../../context/tokens/tokens.ts";
import { availableContext, modelLimits } from "@millrace/models/registry/model-limits";
import { fromStored, readStoredList, StoredMessage } from "@millrace/engine/sessions/messages/stored-message";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import type { SharedProductServices } from "../../product-services.ts";
import { respondInvalid } from "@millrace/engine/http/errors";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { jsonBody } from "@millrace/engine/http/validate";

const Pixels = z.number().int().min(1).max(1_000_000);
const fields = {
  model: z.string().min(1).max(200).nullish().describe("Whose limits are told; left out: the server's model"),
  text: z.string().optional(),
  image: z.object({ width: Pixels, height: Pixels, detail: ImageDetail.default("high") }).optional(),
};
const maxMessages = 10_000;
/** Messages are counted one by one: all at once would block others for a quarter of a second. */
const Counting = z
  .object({ ...fields, messages: z.array(z.unknown()).max(maxMessages).optional() })
  .refine(({ text, messages, image }) => [text, messages, image].filter((given) => given !== undefined).length === 1, {
    message: "expected exactly one of text, messages and image",
  });
const CountingDescription = z
  .object({ ...fields, messages: z.array(StoredMessage).max(maxMessages).optional() })
  .meta({ ref: "TokenCountCreate" });
type Counted = Omit<z.infer<typeof Counting>, "model" | "messages"> & { messages: StoredMessage[] | undefined };

const CountShape = z
  .object({
    tokens: z.number().int(),
    method: z.enum(["exact", "estimate", "formula"]).describe("formula: images cost by their size"),
    estimate: z.number().int().describe("What the server itself goes by where it has to be quick"),
    limits: z.object({
      context: z.number().int(),
      output: z.number().int(),
      available: z.number().int().describe("context - output - tokens, at least 0"),
    }),
  })
  .meta({ ref: "TokenCount" });

/** `POST /tokens/count`: the tokens of a text, messages or an image, and what remains of a model's window. */
export function tokenRoutes({ config, models, tokens: counter }: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  async function count(
    { text, messages, image }: Counted,
    model: string,
    signal: AbortSignal,
  ): Promise<{ tokens: number; method: CountedText["method"] | "formula"; estimate: number }> {
    if (image !== undefined) {
      const tokens = countImage(image, image.detail, model);
      return { tokens, method: "formula", estimate: tokens };
    }
    if (messages !== undefined) {
      const list: BaseMessage[] = [];
      const breathe = yieldingCheck(signal);
      let estimate = 0;
      for (const stored of messages) {
        await breathe();
        const message = fromStored(stored, "");
        list.push(message);
        estimate += countMessages([message]);
      }
      return { ...(await countMessagesExactly(list, counter, signal)), estimate };
    }
    return { ...(await counter.count(text ?? "", signal)), estimate: countText(text ?? "") };
  }

  routes.post(
    "/tokens/count",
    describe({ tag: "Meta", summary: "Count the tokens of a text, of messages or of an image", answer: CountShape }),
    jsonBody(Counting, CountingDescription),
    async (context) => {
      const { messages: forms, ...body } = context.req.valid("json");
      const { messages, problems } =
        forms === undefined ? { messages: undefined, problems: [] } : await readStoredList(forms);
      if (problems.length > 0) {
        const issues = problems.map((issue) => ({ ...issue, path: ["messages", ...issue.path] }));
        return respondInvalid(new z.ZodError(issues), context);
      }
      const model = body.model ?? models.roles().main;
      const counted = await count({ ...body, messages }, model, context.req.raw.signal);
      const limits = modelLimits(model, config.contextLimit, models.profile);
      const available = availableContext(limits, counted.tokens);
      return respondJson(context, { ...counted, limits: { ...limits, available } });
    },
  );
  return routes;
}
