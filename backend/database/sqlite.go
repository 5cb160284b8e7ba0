package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	gosqlite "github.com/glebarez/go-sqlite"
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

const (
	// readers is how many SQLite connections read beside the writer.
	readers = 4
	// pragmas hold for every connection. The limit of the WAL file is 16 MiB
	// after a checkpoint, the cache 8 MiB a connection.
	pragmas = "_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)" +
		"&_pragma=journal_size_limit(16777216)&_pragma=cache_size(-8192)&_pragma=temp_store(MEMORY)"
)

func openSQLite(path string) (*DB, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", path, err)
	}
	file := (&url.URL{Scheme: "file", Path: absolute}).String()
	// A transaction takes the write lock when it begins: one that read first
	// and then writes would fail where another wrote in between.
	writer := sql.OpenDB(connector{dsn: file + "?" + pragmas + "&_txlock=immediate"})
	writer.SetMaxOpenConns(1)
	reader := sql.OpenDB(connector{dsn: file + "?" + pragmas + "&_pragma=query_only(1)"})
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	db := &DB{dialect: SQLite, writer: writer, pools: []*sql.DB{reader, writer}}
	if err := db.joinReader(reader); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// joinReader makes one gorm handle of both pools: queries outside a transaction
// go to the reader.
func (d *DB) joinReader(reader *sql.DB) error {
	write, err := gorm.Open(sqlite.Dialector{Conn: d.writer}, settings())
	if err != nil {
		return fmt.Errorf("set up the writer: %w", err)
	}
	read, err := gorm.Open(sqlite.Dialector{Conn: reader}, settings())
	if err != nil {
		return fmt.Errorf("set up the readers: %w", err)
	}
	outside := write.ConnPool
	divert := func(statement *gorm.DB) {
		if statement.Statement.ConnPool == outside {
			statement.Statement.ConnPool = read.ConnPool
		}
	}
	if err := write.Callback().Query().Before("gorm:query").Register("database:reader", divert); err != nil {
		return fmt.Errorf("divert queries: %w", err)
	}
	if err := write.Callback().Row().Before("gorm:row").Register("database:reader", divert); err != nil {
		return fmt.Errorf("divert rows: %w", err)
	}
	d.gorm = write
	return nil
}

// connector opens SQLite connections whose times are all UTC: SQLite compares
// them as text.
type connector struct{ dsn string }

func (c connector) Driver() driver.Driver { return &gosqlite.Driver{} }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(sqliteConn)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver lacks a part of database/sql"), conn.Close())
	}
	return utcConn{full}, nil
}

// sqliteConn is what the driver's connections can do.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
}

type utcConn struct{ sqliteConn }

// CheckNamedValue implements driver.NamedValueChecker.
func (utcConn) CheckNamedValue(value *driver.NamedValue) error {
	converted, err := driver.DefaultParameterConverter.ConvertValue(value.Value)
	if err != nil {
		return err
	}
	if at, ok := converted.(time.Time); ok {
		converted = at.UTC()
	}
	value.Value = converted
	return nil
}
