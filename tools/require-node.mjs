/** Ends a script on a Node that cannot run TypeScript files, with what to do. Plain JavaScript, so that such a Node runs it. */

const REQUIRED_MAJOR = 24;

if (Number.parseInt(process.versions.node, 10) < REQUIRED_MAJOR) {
  console.error(
    `Halyard needs Node ${REQUIRED_MAJOR} or later, and this is ${process.versions.node}. ` +
      "Run `npm run setup`, then add the line it prints last to your shell profile.",
  );
  process.exitCode = 1;
}
