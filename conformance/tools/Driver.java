import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs many commands of Kafka in one JVM, as if each had a JVM of its own: its streams, its exit status, its shutdown
 * hooks and, by a class loader for each, the static fields of the tools.
 *
 * <p>A line of JSON comes in, one goes out. {"do": "begin", "id", "main", "args", "stdin", "more"} starts a command (with
 * "more" its stdin stays open). {"do": "peek", "id"} tells what it printed. {"do": "wait", "id", "limit_ms"} waits for its end, and stops it after
 * the limit. {"do": "stop", "id"} is SIGTERM. All answer {"status", "out", "err"}; the status is null while it runs, and
 * -1 for who had to be stopped by the limit.
 *
 * <p>A thread belongs to the command whose thread started it.
 */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final InheritableThreadLocal<Run> CURRENT = new InheritableThreadLocal<>();
    private static final int TERMINATED = 143;
    private static final int OUT_OF_TIME = -1;
    private static final long STOP_LIMIT_MS = 10_000;

    /** Thrown by what stands for System.exit. */
    private static final class Exited extends Error {
        Exited() {
            super(null, null, false, false);
        }
    }

    private static final class Run {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        final InputStream in;
        final List<Runnable> hooks = new ArrayList<>();
        final CountDownLatch ended = new CountDownLatch(1);
        final ThreadGroup threads;
        private Integer status;
        private boolean ending;

        Run(String id, String stdin, boolean more) {
            byte[] given = stdin.getBytes(StandardCharsets.UTF_8);
            in = more ? new Held(given, ended) : new ByteArrayInputStream(given);
            threads = new ThreadGroup(id);
        }

        void start(String main, String[] args, URL[] jars) {
            new Thread(threads, () -> call(main, args, jars), "main").start(); // what it starts is no daemon, as it is none
        }

        /** Until no other thread would hold a JVM. */
        private void awaitOthers() throws InterruptedException {
            Thread[] all = new Thread[256];
            for (boolean held = true; held && ended.getCount() > 0; ) {
                held = false;
                int count = threads.enumerate(all);
                for (int i = 0; i < count; i++) {
                    held |= all[i] != Thread.currentThread() && !all[i].isDaemon();
                }
                if (held) {
                    Thread.sleep(10);
                }
            }
        }

        private void call(String main, String[] args, URL[] jars) {
            CURRENT.set(this);
            int code = 0;
            URLClassLoader loader = new URLClassLoader(jars, Driver.class.getClassLoader());
            Thread.currentThread().setContextClassLoader(loader);
            try {
                loader.loadClass(main).getMethod("main", String[].class).invoke(null, (Object) args);
                awaitOthers();
            } catch (InterruptedException stopped) {
                return;
            } catch (InvocationTargetException thrown) {
                if (thrown.getCause() instanceof Exited) {
                    return;
                }
                System.err.print("Exception in thread \"main\" ");
                thrown.getCause().printStackTrace();
                code = 1;
            } catch (ReflectiveOperationException wrong) {
                wrong.printStackTrace();
                code = 1;
            }
            end(code);
        }

        /** The end of the process: the first call decides its status. Returns when the hooks are done. */
        void end(int code) {
            synchronized (this) {
                if (ending) {
                    return;
                }
                ending = true;
            }
            List<Thread> running = new ArrayList<>();
            List<Runnable> all;
            synchronized (hooks) {
                all = List.copyOf(hooks);
            }
            for (Runnable hook : all) {
                Thread thread = new Thread(threads, () -> {
                    CURRENT.set(this);
                    hook.run();
                });
                thread.setDaemon(true);
                thread.start();
                running.add(thread);
            }
            long limit = System.currentTimeMillis() + STOP_LIMIT_MS;
            for (Thread thread : running) {
                try {
                    thread.join(Math.max(1, limit - System.currentTimeMillis()));
                } catch (InterruptedException again) {
                    break;
                }
            }
            synchronized (this) {
                status = code;
            }
            ended.countDown();
        }

        synchronized Integer status() {
            return status;
        }
    }

    /** A stdin that is held open: it ends with the command. */
    private static final class Held extends InputStream {
        private final ByteArrayInputStream given;
        private final CountDownLatch ended;

        Held(byte[] given, CountDownLatch ended) {
            this.given = new ByteArrayInputStream(given);
            this.ended = ended;
        }

        @Override
        public int read() throws IOException {
            int found = given.read();
            if (found < 0) {
                try {
                    ended.await();
                } catch (InterruptedException ends) {
                    throw new IOException(ends);
                }
            }
            return found;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            if (given.available() == 0) {
                return read();
            }
            return given.read(bytes, offset, length);
        }

        @Override
        public int available() {
            return given.available();
        }
    }

    /** System.out or System.err: that of the command to which the thread belongs. */
    private static final class Shared extends OutputStream {
        private final boolean errors;
        private final OutputStream other;

        Shared(boolean errors, OutputStream other) {
            this.errors = errors;
            this.other = other;
        }

        @Override
        public void write(int each) throws IOException {
            write(new byte[] {(byte) each}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            Run run = CURRENT.get();
            if (run == null) {
                other.write(bytes, offset, length);
            } else if (run.status() == null) {
                (errors ? run.err : run.out).write(bytes, offset, length);
            }
        }
    }

    private static final class SharedIn extends InputStream {
        private InputStream mine() {
            Run run = CURRENT.get();
            return run == null ? InputStream.nullInputStream() : run.in;
        }

        @Override
        public int read() throws IOException {
            return mine().read();
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            return mine().read(bytes, offset, length);
        }

        @Override
        public int available() throws IOException {
            return mine().available();
        }
    }

    private static void exit(int code, String message) {
        Run run = CURRENT.get();
        if (run == null) {
            System.exit(code);
        }
        if (message != null) {
            System.err.println(message);
        }
        run.end(code);
        throw new Exited();
    }

    public static void main(String[] args) throws Exception {
        URL[] jars = new URL[args.length];
        for (int i = 0; i < args.length; i++) {
            jars[i] = Path.of(args[i]).toUri().toURL();
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        PrintStream complaints = System.err;
        System.setOut(new PrintStream(new Shared(false, complaints), true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(new Shared(true, complaints), true, StandardCharsets.UTF_8));
        System.setIn(new SharedIn());
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> {
            if (!(thrown instanceof Exited)) {
                System.err.print("Exception in thread \"" + thread.getName() + "\" ");
                thrown.printStackTrace();
            }
        });
        Exit.setExitProcedure(Driver::exit);
        Exit.setHaltProcedure(Driver::exit);
        Exit.setShutdownHookAdder((name, hook) -> {
            Run run = CURRENT.get();
            synchronized (run.hooks) {
                run.hooks.add(hook);
            }
        });
        Map<String, Run> runs = new HashMap<>();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode request = JSON.readTree(line);
            String id = request.get("id").asText();
            String what = request.get("do").asText();
            if (what.equals("begin")) {
                Run run = new Run(id, request.get("stdin").asText(), request.get("more").asBoolean());
                List<String> arguments = new ArrayList<>();
                request.get("args").forEach(each -> arguments.add(each.asText()));
                runs.put(id, run);
                run.start(request.get("main").asText(), arguments.toArray(String[]::new), jars);
            }
            Run run = runs.get(id);
            if (what.equals("wait") && !run.ended.await(request.get("limit_ms").asLong(), TimeUnit.MILLISECONDS)) {
                run.end(OUT_OF_TIME);
            }
            if (what.equals("stop")) {
                run.end(TERMINATED);
            }
            Map<String, Object> answer = new HashMap<>();
            answer.put("status", run.status());
            answer.put("out", run.out.toString(StandardCharsets.UTF_8));
            answer.put("err", run.err.toString(StandardCharsets.UTF_8));
            answers.println(JSON.writeValueAsString(answer));
            if (run.status() != null && (what.equals("wait") || what.equals("stop"))) {
                runs.remove(id);
                run.threads.interrupt(); // what the end of a process would take with it
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
