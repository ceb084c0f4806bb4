package org.apache.kafka.clients.producer.internals;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Date;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.kafka.common.utils.MockTime;

/**
 * Threads that block in the buffer pool, one at a time and in virtual time.
 *
 * <p>The pool gets {@link #lock}: who waits there for memory stands still until the judge lets it go on, and its time is
 * over when MockTime says so. Who is woken goes on when everybody before has come to an end or waits again.
 */
final class Turns {
    final ReentrantLock lock = new Lock();
    private final MockTime time;
    private final List<Waiting> waiting = new ArrayList<>();
    private final Deque<Waiting> ready = new ArrayDeque<>();
    private boolean running;
    private int conditions;

    Turns(MockTime time) {
        this.time = time;
    }

    /** Run it in a thread of its own until it ends or waits; then all whom it woke. */
    void begin(Runnable work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } finally {
                pass();
            }
        });
        thread.setDaemon(true);
        running = true;
        thread.start();
        awaitPass();
        settle();
    }

    /** Let everybody go on who was woken. */
    void settle() {
        while (true) {
            synchronized (this) {
                Waiting next = ready.pollFirst();
                if (next == null) {
                    return;
                }
                waiting.remove(next);
                next.goesOn = true;
                running = true;
                notifyAll();
            }
            awaitPass();
        }
    }

    /** Let time pass; who waits has its deadline at its own time. */
    void advance(long ms) {
        long targetMs = time.milliseconds() + ms;
        while (true) {
            long dueNs = Long.MAX_VALUE;
            for (Waiting one : waiting) {
                dueNs = Math.min(dueNs, one.deadlineNs);
            }
            long dueMs = dueNs == Long.MAX_VALUE ? Long.MAX_VALUE : TimeUnit.NANOSECONDS.toMillis(dueNs);
            if (dueMs > targetMs) {
                break;
            }
            time.sleep(Math.max(0, dueMs - time.milliseconds()));
            List<Waiting> all = new ArrayList<>(waiting);
            all.sort(Comparator.comparingInt(one -> one.number)); // as they stand in the pool's queue
            for (Waiting one : all) {
                if (one.deadlineNs <= time.nanoseconds() && waiting.contains(one) && !ready.contains(one)) {
                    one.elapsed = true;
                    ready.add(one);
                    settle();
                }
            }
        }
        time.sleep(targetMs - time.milliseconds());
    }

    /** Interrupt one of those who wait, counted as they stand in the pool's queue. False if nobody waits. */
    boolean interrupt(int which) {
        List<Waiting> all = new ArrayList<>(waiting);
        if (all.isEmpty()) {
            return false;
        }
        all.sort(Comparator.comparingInt(one -> one.number));
        Waiting one = all.get(which % all.size());
        one.interrupted = true;
        ready.add(one);
        settle();
        return true;
    }

    private synchronized void pass() {
        running = false;
        notifyAll();
    }

    private synchronized void awaitPass() {
        while (running) {
            try {
                wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private final class Lock extends ReentrantLock {
        @Override
        public Condition newCondition() {
            return new Waiting();
        }
    }

    private final class Waiting implements Condition {
        final int number = conditions++;
        long deadlineNs;
        boolean elapsed;
        boolean interrupted;
        boolean goesOn;

        @Override
        public boolean await(long duration, TimeUnit unit) throws InterruptedException {
            long ns = unit.toNanos(duration);
            if (ns <= 0) {
                return false;
            }
            deadlineNs = time.nanoseconds() + ns;
            lock.unlock();
            synchronized (Turns.this) {
                goesOn = false;
                waiting.add(this);
                running = false;
                Turns.this.notifyAll();
                while (!goesOn) {
                    Turns.this.wait();
                }
            }
            lock.lock();
            if (interrupted) {
                throw new InterruptedException();
            }
            return !elapsed;
        }

        @Override
        public void signal() {
            synchronized (Turns.this) {
                if (waiting.contains(this) && !ready.contains(this)) {
                    ready.add(this);
                }
            }
        }

        @Override
        public void await() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void awaitUninterruptibly() {
            throw new UnsupportedOperationException();
        }

        @Override
        public long awaitNanos(long ns) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean awaitUntil(Date deadline) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void signalAll() {
            throw new UnsupportedOperationException();
        }
    }
}
