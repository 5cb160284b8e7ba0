package database

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// Limits of the PostgreSQL pool.
const (
	postgresConns    = 16
	postgresIdleTime = 5 * time.Minute
)

func openPostgres(dsn string) (*DB, error) {
	handle, err := gorm.Open(postgres.New(postgres.Config{DSN: dsn}), settings())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	pool, err := handle.DB()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("find the pool: %w", err))
	}
	pool.SetMaxOpenConns(postgresConns)
	pool.SetMaxIdleConns(postgresConns)
	pool.SetConnMaxIdleTime(postgresIdleTime)
	return &DB{dialect: Postgres, gorm: handle, writer: pool, pools: []*sql.DB{pool}}, nil
}
