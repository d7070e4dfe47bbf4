import type {
  AgentCard,
  CancelTaskRequest,
  GetTaskRequest,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from "@a2a-js/sdk";
import {
  A2AError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import type { A2ARequestHandler } from "@a2a-js/sdk/server";
import { isAppError } from "../../errors/errors.ts";
import { channelNames } from "../../graphs/schemas/graph-schemas.ts";
import { isOver } from "../../runs/status.ts";
import { inSession, requireSession } from "../../sessions/sessions.ts";
import type { Assistant, Run, Session } from "../../storage/records.ts";
import type { Submission } from "../../storage/storage.ts";
import type { HttpContext, HttpServices } from "../environment.ts";
import { languageOf } from "../responses/wire.ts";
import { RunBody } from "../requests/run-request.ts";
import { admitRun, requestOrigin } from "../requests/runs.ts";
import { Id, sessionIdOf, submissionOf } from "../validate.ts";
import { createArtifactReader } from "./artifacts.ts";
import {
  questionsOf,
  readMessage,
  type ClientMessage,
  statusOf,
  taskIdOf,
  taskOf,
  type TaskOfRuns,
  toInput,
  toResume,
  toTask,
} from "./task.ts";

/** One request to an assistant. */
export interface A2aRequest {
  services: HttpServices;
  context: HttpContext;
  assistant: Assistant;
  card: AgentCard;
  /** Aborted when the client disconnects; started runs continue. */
  signal: AbortSignal;
  /** The last event that a returning client has seen; -1: none. */
  after: number;
}

/** Implements the library's server interface on top of our runs, which are rows: no task lives in memory alone. */
export class A2aHandler implements A2ARequestHandler {
  /** An error outside the protocol, answered with its own status as on every route. */
  failure: Error | undefined;
  /** The log id of the last event sent. */
  lastEvent = -1;
  /** The run being followed. */
  followed: Run | undefined;
  readonly #request: A2aRequest;
  readonly #hasMessages: boolean;

  constructor(request: A2aRequest) {
    this.#request = request;
    this.#hasMessages = holdsMessages(request.services, request.assistant);
  }

  async getAgentCard(): Promise<AgentCard> {
    return this.#request.card;
  }

  async getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    return this.#request.card;
  }

  sendMessage(params: SendMessageRequest): Promise<Task> {
    return this.#guarded(async () => {
      const { services, signal } = this.#request;
      const task = await this.#begin(params);
      if (params.configuration?.returnImmediately === true) return await this.#taskFor(task);
      return await this.#taskFor({ ...task, last: await services.runs.wait(task.last.run_id, signal) });
    });
  }

  async *sendMessageStream(params: SendMessageRequest): AsyncGenerator<StreamResponse, void, undefined> {
    const task = await this.#guarded(() => this.#begin(params));
    yield* this.#follow(task, -1);
  }

  getTask({ id }: GetTaskRequest): Promise<Task> {
    return this.#guarded(async () => this.#taskFor(await this.#find(id)));
  }

  cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    return this.#guarded(async () => {
      const task = await this.#find(id);
      const { last } = task;
      if ((await questionsOf(this.#request.services, task)).length > 0) {
        throw new TaskNotCancelableError(
          "The task waits for an answer, and nothing of it works: answer no, or leave it.",
        );
      }
      if (isOver(last.status)) throw new TaskNotCancelableError(`The task is over: ${last.status}.`);
      const stopped = await this.#request.services.runs.cancel(last.run_id, { action: "interrupt", wait: true });
      if (stopped === undefined) throw new TaskNotFoundError(`Task not found: ${id}`);
      return await this.#taskFor({ ...task, last: stopped });
    });
  }

  async *resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    const task = await this.#guarded(() => this.#find(id));
    yield* this.#follow(task, this.#request.after);
  }

  async listTasks(): Promise<never> {
    throw new UnsupportedOperationError("Tasks are not listed here: GET /threads/:context_id/runs lists them.");
  }

  async createTaskPushNotificationConfig(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  async getTaskPushNotificationConfig(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  async listTaskPushNotificationConfigs(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  async deleteTaskPushNotificationConfig(): Promise<never> {
    throw new PushNotificationNotSupportedError();
  }

  #taskFor(task: TaskOfRuns): Promise<Task> {
    const { services, context, signal } = this.#request;
    return toTask(services, task, { language: languageOf(context), hasMessages: this.#hasMessages, signal });
  }

  /** Finds the task of one of this assistant's runs. */
  async #find(id: string): Promise<TaskOfRuns> {
    const { services, assistant } = this.#request;
    const runId = Id.safeParse(id).data;
    const run = runId === undefined ? undefined : await services.runs.get(runId);
    if (run === undefined || run.assistant_id !== assistant.assistant_id) {
      throw new TaskNotFoundError(`Task not found: ${id}`);
    }
    return await taskOf(services, run);
  }

  /** Starts the run for a message: in a new context, in an existing one, or as the answer to a waiting task. */
  async #begin({ message, configuration }: SendMessageRequest): Promise<TaskOfRuns> {
    const { context, assistant } = this.#request;
    if (configuration?.taskPushNotificationConfig !== undefined) throw new PushNotificationNotSupportedError();
    const content = readMessage(message);
    const submission = submissionOf(context, { assistant: assistant.assistant_id, message });
    const named = content.taskId === "" ? undefined : await this.#find(content.taskId);
    const start = (session: Session): Promise<TaskOfRuns> => this.#startIn(session, content, named, submission);
    return await this.#inSessionOf(content, named, submission, start);
  }

  async #startIn(
    session: Session,
    content: ClientMessage,
    named: TaskOfRuns | undefined,
    submission: Submission | undefined,
  ): Promise<TaskOfRuns> {
    const { services, context, assistant } = this.#request;
    const body = async (): Promise<RunBody> => {
      const resume = await this.#answerIn(session, content, named);
      return RunBody.parse({
        assistant_id: assistant.assistant_id,
        ...(resume === undefined ? { input: this.#inputOf(content) } : { command: { resume } }),
        stream_mode: ["messages-tuple", "values"],
        // A message sent while a run works is answered after that run.
        multitask_strategy: "enqueue",
      });
    };
    const run = await admitRun(services, session, body, { ...requestOrigin(context), submission });
    return { id: await taskIdOf(services, run), last: run };
  }

  /** Works in the session that a message is for: that of its task, that of its context, or a new one. */
  async #inSessionOf<Result>(
    message: ClientMessage,
    named: TaskOfRuns | undefined,
    submission: Submission | undefined,
    work: (session: Session) => Promise<Result>,
  ): Promise<Result> {
    const { services } = this.#request;
    const known = named?.last.session_id;
    if (message.contextId === "" && known === undefined) {
      return await inSession(services, { session_id: submission && sessionIdOf(submission, services.owner) }, work);
    }
    const id = Id.safeParse(message.contextId === "" ? known : message.contextId).data;
    if (id === undefined) {
      throw new RequestMalformedError(
        "contextId is a UUID: leave it out for a new context, and send what the task says.",
      );
    }
    if (known === undefined) return await inSession(services, { session_id: id }, work);
    if (known !== id) throw new RequestMalformedError(`The task ${message.taskId} belongs to another context.`);
    return await work(await requireSession(services.storage, id));
  }

  /** The answer that a message contains; `undefined` if it starts a new task. */
  async #answerIn(session: Session, message: ClientMessage, named: TaskOfRuns | undefined): Promise<unknown> {
    const { services, assistant } = this.#request;
    const task = named ?? (await this.#waitingIn(session));
    if (task === undefined) return undefined;
    const questions = await questionsOf(services, task);
    if (questions.length === 0) {
      if (named === undefined) return undefined;
      throw new UnsupportedOperationError(
        `The task ${named.id} waits for no answer. A message without a taskId, in its contextId, begins the next one.`,
      );
    }
    const understandsWords = services.graphs.hasLoop(services.graphs.get(assistant.graph_id));
    return toResume(message, questions, understandsWords);
  }

  async #waitingIn(session: Session): Promise<TaskOfRuns | undefined> {
    const { services, assistant } = this.#request;
    if (session.status !== "interrupted") return undefined;
    const [run] = await services.runs.list(session.session_id, { limit: 1, offset: 0, status: "success" });
    return run?.assistant_id === assistant.assistant_id ? await taskOf(services, run) : undefined;
  }

  #inputOf(message: ClientMessage) {
    const { services, assistant } = this.#request;
    return toInput(message, channelNames(services.graphs.get(assistant.graph_id)));
  }

  /** Yields the task as it is, then its run's events after the event `after`, then the outcome. */
  async *#follow(task: TaskOfRuns, after: number): AsyncGenerator<StreamResponse, void, undefined> {
    const { services, signal, context } = this.#request;
    const ids = { taskId: task.id, contextId: task.last.session_id, metadata: undefined };
    this.followed = task.last;
    this.lastEvent = after;
    yield { payload: { $case: "task", value: await this.#guarded(() => this.#taskFor(task)) } };
    if (isOver(task.last.status)) return;
    const reader = createArtifactReader(task.last, this.#hasMessages);
    for await (const batch of services.runs.followBatches(task.last, -1, signal)) {
      for (const event of batch) {
        const piece = reader.read(event);
        if (event.id <= after) continue;
        this.lastEvent = event.id;
        if (event.event === "metadata" && event.id === 0) {
          const working = await statusOf(services, { ...task, last: { ...task.last, status: "running" } }, "en");
          yield { payload: { $case: "statusUpdate", value: { ...ids, status: working } } };
        }
        if (piece !== undefined) yield { payload: { $case: "artifactUpdate", value: { ...ids, ...piece } } };
      }
    }
    const last = (await services.runs.get(task.last.run_id)) ?? task.last;
    const rest = last.status === "success" ? reader.rest() : undefined;
    const status = await statusOf(services, { ...task, last }, languageOf(context));
    if (rest !== undefined && status.message === undefined) {
      yield { payload: { $case: "artifactUpdate", value: { ...ids, ...rest } } };
    }
    yield { payload: { $case: "statusUpdate", value: { ...ids, status } } };
  }

  async #guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof A2AError) throw error;
      if (isAppError(error) && error.code === "invalid_parameter") throw new RequestMalformedError(error.message);
      this.failure = error instanceof Error ? error : new Error("The request failed", { cause: error });
      throw error;
    }
  }
}

/** Whether an assistant's graph is a conversation. */
export function holdsMessages({ graphs }: Pick<HttpServices, "graphs">, { graph_id }: Assistant): boolean {
  return channelNames(graphs.get(graph_id)).includes("messages");
}
