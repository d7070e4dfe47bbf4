import type { BaseMessage } from "@langchain/core/messages";
import { Hono } from "hono";
import { z } from "zod";
import { indexOfMessage, pageOfMessages, readMessages } from "@millrace/engine/sessions/messages/conversation";
import { DisplayMessage, toDisplay } from "../../../sessions/messages/display.ts";
import {
  appendMessages,
  clearMessages,
  deleteMessage,
  MessageChange,
  updateMessage,
} from "@millrace/engine/sessions/state/edit-messages";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { isHidden, StoredMessage } from "@millrace/engine/sessions/messages/stored-message";
import { folded, Hit, newestHits } from "../../../sessions/messages/find-words.ts";
import { summaryWithout } from "../../../sessions/overview/summaries.ts";
import { toolCallStartTimes } from "../../../sessions/messages/tool-call-start-times.ts";
import { withOperations } from "../../../sessions/messages/with-operations.ts";
import type { Session } from "@millrace/engine/storage/records";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf, type ProductServices } from "../../product-services.ts";
import { respondJson, languageOf } from "@millrace/engine/http/responses/wire";
import { Id, jsonBody, path, query, QueryFlag } from "@millrace/engine/http/validate";

const ThreadPath = z.object({ thread_id: Id });
const MessageId = z.string().min(1).max(200).describe("A message's id, or its first 8 characters");
const MessagePath = ThreadPath.extend({ message_id: MessageId });
const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(50),
  before: MessageId.optional().describe("Only messages before this one"),
  hidden: QueryFlag.optional().describe("System texts and hidden messages too"),
  checkpoint_id: z.string().min(1).max(200).optional().describe("As the conversation was at this checkpoint"),
});
const WordsQuery = z.object({
  query: z.string().trim().min(1).max(500).describe("Looked for in what was said, in any case"),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  before: MessageId.optional().describe("`before` of the answer before: what was found in older messages"),
});
const Append = z.object({
  messages: z.array(StoredMessage).min(1).max(1000),
  graph_id: z.string().min(1).max(200).nullish().describe("Whose thread it becomes, when it has had no run yet"),
});

const MessageShape = DisplayMessage.meta({ ref: "Message" });
const PageShape = z.object({
  messages: z.array(MessageShape).describe("Oldest first"),
  total: z.number().int(),
  before: z.string().nullable().describe("Ask with it for the messages before these; null when there are none"),
});
const HitsShape = z.object({
  hits: z.array(Hit).describe("One for each message that holds the text, oldest first; hidden ones are passed over"),
  total: z.number().int().describe("In how many messages the text stands"),
  before: z.string().nullable().describe("Ask with it for what was found before these; null when there is nothing"),
});
const tag = "Messages";
const unknownThread = { 404: "No such thread" };
const unknownMessage = { 404: "No such thread or message" };
const unknownPage = { 404: "No such thread, message or checkpoint" };
const notIdle = "A run works in the thread, or a question waits";

/** `/threads/:id/messages` and `/threads/:id/search`: messages by page and by what was said, and changes without a run. */
export function messageRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  readingRoutes(routes);
  searchRoute(routes);
  changingRoutes(routes);
  deletingRoutes(routes);
  return routes;
}

function readingRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/messages",
    describe({ tag, summary: "The last messages, or those before one", answer: PageShape, errors: unknownPage }),
    path(ThreadPath),
    query(PageQuery),
    async (context) => {
      const services = productServicesOf(context);
      const { limit, before, hidden, checkpoint_id } = context.req.valid("query");
      const conversation = await conversationOf(services, context.req.valid("param").thread_id, checkpoint_id);
      const { all } = conversation;
      const seen = hidden === true ? all : all.filter((message) => !isHidden(message));
      const { messages, ...page } = pageOfMessages(seen, { limit, before });
      return respondJson(context, { ...page, messages: await displayed(services, context, conversation, messages) });
    },
  );

  routes.get(
    "/threads/:thread_id/messages/:message_id",
    describe({ tag, summary: "One message", answer: MessageShape, errors: unknownMessage }),
    path(MessagePath),
    async (context) => {
      const services = productServicesOf(context);
      const { thread_id, message_id } = context.req.valid("param");
      const conversation = await conversationOf(services, thread_id);
      const message = conversation.all[indexOfMessage(conversation.all, message_id)];
      const [one] = await displayed(services, context, conversation, message === undefined ? [] : [message]);
      return respondJson(context, one);
    },
  );
}

function searchRoute(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/search",
    describe({ tag, summary: "Where a text stands in its messages", answer: HitsShape, errors: unknownMessage }),
    path(ThreadPath),
    query(WordsQuery),
    async (context) => {
      const { query: words, limit, before } = context.req.valid("query");
      const { all } = await conversationOf(productServicesOf(context), context.req.valid("param").thread_id);
      const found = newestHits(all, folded(words), Infinity).toReversed();
      const { messages, ...place } = pageOfMessages(
        found.map((hit) => ({ id: hit.message_id, hit })),
        { limit, before },
      );
      return respondJson(context, { ...place, hits: messages.map(({ hit }) => hit) });
    },
  );
}

function changingRoutes(routes: HttpApp): void {
  routes.post(
    "/threads/:thread_id/messages",
    describe({
      tag,
      summary: "Add messages without a run; answers with them and their ids",
      answer: z.array(MessageShape),
      errors: { 404: "No such thread or graph", 409: `${notIdle}, or it has no graph yet` },
    }),
    path(ThreadPath),
    jsonBody(Append),
    async (context) => {
      const services = productServicesOf(context);
      const { messages, graph_id } = context.req.valid("json");
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      const added = await appendMessages(services, session, messages, graph_id ?? undefined);
      return respondJson(context, await written(services, context, session, added));
    },
  );

  routes.patch(
    "/threads/:thread_id/messages/:message_id",
    describe({
      tag,
      summary: "Change a message: its words, its metadata, what it cost",
      answer: MessageShape,
      errors: { ...unknownMessage, 409: notIdle },
    }),
    path(MessagePath),
    jsonBody(MessageChange),
    async (context) => {
      const services = productServicesOf(context);
      const { thread_id, message_id } = context.req.valid("param");
      const session = await requireSession(services.storage, thread_id);
      const changed = await updateMessage(services, session, message_id, context.req.valid("json"));
      return respondJson(context, (await written(services, context, session, [changed]))[0]);
    },
  );
}

function deletingRoutes(routes: HttpApp): void {
  routes.delete(
    "/threads/:thread_id/messages/:message_id",
    describe({
      tag,
      summary: "Take a message out of the state, and with it the results of its calls; the history keeps them",
      answer: z.object({ removed: z.array(z.string()).describe("The ids of what was taken out") }),
      errors: { ...unknownMessage, 409: notIdle },
    }),
    path(MessagePath),
    async (context) => {
      const services = productServicesOf(context);
      const { thread_id, message_id } = context.req.valid("param");
      const session = await requireSession(services.storage, thread_id);
      const removed = await deleteMessage({ ...services, following: summaryWithout }, session, message_id);
      services.logger.info({ session_id: session.session_id, removed: removed.length }, "message_deleted");
      return respondJson(context, { removed });
    },
  );

  routes.delete(
    "/threads/:thread_id/messages",
    describe({
      tag,
      summary: "Begin anew: take all messages out of the state; the history keeps them",
      answer: z.object({ removed: z.number().int() }),
      errors: { ...unknownThread, 409: notIdle },
    }),
    path(ThreadPath),
    query(z.object({ keep_system: QueryFlag.optional() })),
    async (context) => {
      const services = productServicesOf(context);
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      const { keep_system } = context.req.valid("query");
      const removed = await clearMessages(services, session, keep_system ?? true);
      services.logger.info({ session_id: session.session_id, removed }, "messages_cleared");
      return respondJson(context, { removed });
    },
  );
}

interface Conversation {
  session: Session;
  all: BaseMessage[];
}

async function conversationOf(
  { storage }: ProductServices,
  threadId: string,
  checkpointId?: string,
): Promise<Conversation> {
  const session = await requireSession(storage, threadId);
  return { session, all: await readMessages(storage, threadId, checkpointId) };
}

/** A conversation's messages in the form for clients. */
async function displayed(
  { operations, storage }: ProductServices,
  context: HttpContext,
  { session, all }: Conversation,
  messages: readonly BaseMessage[],
): Promise<DisplayMessage[]> {
  const [shown, begun] = await Promise.all([
    withOperations(operations, session, messages, languageOf(context)),
    toolCallStartTimes(storage.ledger, session, messages, all),
  ]);
  return toDisplay(shown, all, begun);
}

/** The messages of a change, in their current form. */
async function written(
  services: ProductServices,
  context: HttpContext,
  session: Session,
  changed: readonly BaseMessage[],
): Promise<DisplayMessage[]> {
  const conversation = await conversationOf(services, session.session_id);
  return displayed(services, context, conversation, changed);
}
