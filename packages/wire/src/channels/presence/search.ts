/** A search for the processes that hold some rooms. Until it ends, the lists of these rooms are not complete. */
export class Search {
  readonly topics: Set<string>;
  /** The processes that are asked, with the topics of each unanswered message. Undefined: the room's own topic is asked. */
  waiting: Map<string, Map<number, readonly string[]>> | undefined = undefined;
  /** Whether the questions have been sent: before, nothing is repeated. */
  isAsked = false;
  /** When it is repeated, in monotonic ms, and how often it was. */
  dueAt: number;
  attempts = 0;

  constructor(topics: Iterable<string>, dueAt: number) {
    this.topics = new Set(topics);
    this.dueAt = dueAt;
  }
}
